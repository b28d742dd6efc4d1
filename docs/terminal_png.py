"""Draws coloured terminal output as a PNG, for the README's picture. Development only; needs rich, pillow and DejaVu fonts.

    COLUMNS=112 stepline lines trace.json.gz --top 16 --color always | python3 docs/terminal_png.py docs/lines.png 'stepline lines trace.json.gz'
"""

import sys

from PIL import Image, ImageDraw, ImageFont
from rich.color import ColorType
from rich.text import Text

SIZE, CELL_W, CELL_H, MARGIN = 22, 13.25, 30, 24
FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono%s.ttf"
BACKGROUND, FOREGROUND, PROMPT = "#1b1e24", "#d6dae0", "#8a93a3"


def colour(style):
    if style is None or style.color is None or style.color.type == ColorType.DEFAULT:
        return FOREGROUND
    return style.color.get_truecolor().hex


def main(out, command):
    plain, bold = ImageFont.truetype(FONTS % "", SIZE), ImageFont.truetype(FONTS % "-Bold", SIZE)
    rows = [Text.from_ansi(line) for line in sys.stdin.read().rstrip("\n").split("\n")]
    width = max(len(row.plain) for row in rows)
    image = Image.new("RGB", (int(width * CELL_W + 2 * MARGIN), (len(rows) + 2) * CELL_H + 2 * MARGIN), BACKGROUND)
    draw = ImageDraw.Draw(image)
    draw.text((MARGIN, MARGIN), "$ " + command, font=plain, fill=PROMPT)
    for number, row in enumerate(rows, start=2):
        styles = [None] * len(row.plain)
        for span in row.spans:
            for i in range(span.start, span.end):
                styles[i] = span.style if styles[i] is None else styles[i] + span.style
        for i, char in enumerate(row.plain):
            if char == " ":
                continue
            x, y, style = MARGIN + i * CELL_W, MARGIN + number * CELL_H, styles[i]
            if 0x2588 <= ord(char) <= 0x258F:  # block elements fill their part of the cell, without gaps
                part = (0x2590 - ord(char)) / 8
                draw.rectangle((x, y + 2, x + CELL_W * part, y + CELL_H - 4), fill=colour(style))
                continue
            draw.text((x, y), char, font=bold if style is not None and style.bold else plain, fill=colour(style))
    image.quantize(64).save(out, optimize=True)


main(sys.argv[1], sys.argv[2])
