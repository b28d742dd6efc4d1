"""stepline: what each line of PyTorch training code costs on the GPU.

The program is `stepline`, or `python -m stepline`. For training loops of your own:

    import stepline

    with stepline.watch("captures") as w:
        for batch in loader:
            loss = train_step(batch)
            w.step(loss=loss)

records the next steps when one is slow or the loss is no number.
"""

__version__ = "@VERSION@"
__all__ = ["__version__", "find_program", "watch"]


def find_program():
    """The path of the stepline program that was installed with this package."""
    from stepline import _program

    return _program.find()


def watch(*args, **kwargs):
    """Watches a training loop; see stepline_watch.watch, which it calls."""
    import stepline_watch

    return stepline_watch.watch(*args, **kwargs)
