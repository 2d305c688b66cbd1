"""The torch modules of the library, in one place."""

__all__: list[str] = []
