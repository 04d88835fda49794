"""Who somebody is: tokens, names, what is kept of a sign-in."""
