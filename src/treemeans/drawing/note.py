"""A few words below a picture."""

from treemeans.drawing.labels import wrapped
from treemeans.drawing.scene import LINE, MUTED, Measure, Scene, Text, baseline

_SIZE = 0.85
_LINES = 6


def add_note(scene: Scene, words: str, margin: float, size: float, measure: Measure) -> None:
    """Write ``words`` below all that is in the scene, which grows by as much."""
    if not words:
        return
    size *= _SIZE
    room = scene.width - 2 * margin
    for line in wrapped(words, room, _LINES, size, measure):
        middle = scene.height + size * LINE / 2
        scene.texts.append(Text(margin, baseline(middle, size), line, size, ink=MUTED, full=words))
        scene.height += size * LINE
    scene.height += margin
