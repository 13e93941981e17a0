"""`svm`: a support vector machine on the time index."""

from __future__ import annotations

from predictor_service.time_regression import regression_model

MODEL = regression_model(
    "svm",
    "sklearn.svm:SVR",
    "scikit-learn SVR with its defaults",
    most_samples=20_000,
    cost="light",
)
