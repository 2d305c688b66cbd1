"""Objectives that train a comparer: classes, given pairs, augmentations, few-shot tasks."""
