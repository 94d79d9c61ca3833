"""Operations of forwards, counted by hand: of each the layers as its paper or its source has them."""


def wan(tokens, text, width, hidden, layers):
    attention = 4 * tokens * tokens * width + 4 * tokens * text * width
    linear = 6 * 2 * tokens * width * width + 2 * 2 * text * width * width + 2 * 2 * tokens * width * hidden
    conditions = 2 * (256 * width + width * width + 6 * width * width) + 2 * text * (32 * width + width * width)
    patches = 2 * tokens * 16 * 4 * width + 2 * tokens * width * 16 * 4
    return layers * (attention + linear) + conditions + patches


def ltx(tokens, text, width, layers):
    attention = 4 * tokens * tokens * width + 4 * tokens * text * width
    linear = 6 * 2 * tokens * width * width + 2 * 2 * text * width * width + 2 * 2 * tokens * width * 4 * width
    conditions = 2 * (256 * width + width * width + 6 * width * width) + 2 * text * (16 * width + width * width)
    return layers * (attention + linear) + conditions + 2 * tokens * 8 * width * 2


def vjepa2(tokens):
    def blocks(count, width, layers):
        return layers * (4 * 2 * count * width * width + 4 * count * count * width + 2 * 2 * count * width * 4 * width)
    patches = 2 * tokens * 3 * 2 * 16 * 16 * 48
    return patches + blocks(tokens, 48, 2) + 2 * tokens * 48 * 24 + blocks(2 * tokens, 24, 2) + 2 * tokens * 24 * 48
