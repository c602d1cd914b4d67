"""Being a broker of the controllers: registered, heard of, let in, and leaving."""
