"""Linear metrics over the vectors of an encoder, in closed form: Discriminant from classes, Whitened without."""
