"""Games that were played, or still are: who may see what of them."""
