module example.org/odradek

go 1.21
