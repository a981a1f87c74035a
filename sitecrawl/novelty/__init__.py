"""How much of a page's text is new to its host: what is left of it without menus, and what was shown before."""
