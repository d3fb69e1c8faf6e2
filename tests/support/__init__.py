"""What several test rooms lean on; no tests here."""
