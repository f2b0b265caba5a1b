"""The largest batch that runs, by trying."""

# "Fits" has holes near the limit: this share of the boundary below it is looked into, at so many batches.
_SHARE = 0.03
_LOOKS = 4


def true_maximum(runs, guess=32, most=1 << 16):
    """The largest b of which no smaller batch that was tried failed; 0: not even one runs. `runs`: batch -> whether."""
    known = {}

    def fits(batch):
        if batch not in known:
            known[batch] = runs(batch)
        return known[batch]

    low, high = 0, max(1, guess)
    while high < most and fits(high):
        low, high = high, 2 * high
    while True:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        span = int(low * _SHARE)
        below = [low - span * look // _LOOKS for look in range(1, _LOOKS + 1) if low - span * look // _LOOKS > 0]
        holes = [batch for batch in below if not fits(batch)]
        if not holes:
            return low
        high = min(holes)
        low = max((batch for batch in known if known[batch] and batch < high), default=0)
