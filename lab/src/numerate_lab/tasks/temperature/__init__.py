"""ERA5 temperature forecasts."""
