"""What the assets and checks connect to: settings and a connect(), one class per outside system."""
