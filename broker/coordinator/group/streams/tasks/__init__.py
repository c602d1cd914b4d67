"""Who shall have which tasks, and what each has on its way there."""
