"""What every process tells Prometheus. The names are declared in `catalogue`, and only there."""
