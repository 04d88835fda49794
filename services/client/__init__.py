"""The Python client of the exchange, and the worked example of its protocol. See README.md."""
