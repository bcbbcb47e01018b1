"""`NumberRegressor`: the estimator, its network, and the trend of table rows."""
