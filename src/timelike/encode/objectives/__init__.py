"""What encoders are trained for without labels: crops, views and their losses."""
