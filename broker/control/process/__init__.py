"""The process of a broker and its clients, as tests have them fail."""
