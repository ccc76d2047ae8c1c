from .crossfit import (
    GIVEN as GIVEN,
    TEACHERS as TEACHERS,
    Blend as Blend,
    Taught as Taught,
    Teaching as Teaching,
    blend as blend,
    read_strength as read_strength,
    teach as teach,
)
