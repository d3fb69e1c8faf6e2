"""What models are told: templates, and the material they are given between marks it cannot forge."""
