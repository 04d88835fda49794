"""Running the exchange: what operators order, and how every gateway obeys it."""
