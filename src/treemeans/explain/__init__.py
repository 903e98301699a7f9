"""Explanations of trees: rules of clusters, explanations of rows, counterfactuals."""
