"""Applications: `check`, `fill`, `play`, `serve` and `demo` behind commands; `NumberRegressor`, `NumberTransformer`."""
