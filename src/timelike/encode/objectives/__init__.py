"""Self-supervised objectives of encoders: crops, views and their losses."""
