if (form) startTable();
