"""Every limit of the server in one place: sizes, counts and times."""

KNOWN_FROM = 0.5
"""The confidence from which on a reading counts as "in memory"."""
MAX_BODY_BYTES = 4_000_000
"""The largest body of a request: 64 images as arrays fit."""
MAX_PATH_BYTES = 60_000
"""The longest path of a request with its ids, as they are quoted there."""
MAX_ID_CHARACTERS = 5_000
"""The longest id: a path has room for one of these, whatever its characters are."""
MAX_IMAGES = 64
"""The most images of one request or answer, and the most images between two."""
MAX_READINGS = 64
"""The most readings that a request may ask for."""
MAX_PNG_CHARACTERS = 1_500_000
"""The longest PNG as a data URL, about 1.1 MB of file."""
MAX_PNG_PIXELS = 4_000_000
"""The most pixels of a PNG. They are counted before anything is unpacked."""
MAX_ITEMS = 500
"""The most items that the server writes into one memory, and the most that it lists."""
MAX_MEMORIES_OF_SESSION = 8
MAX_MEMORIES = 160
"""Of all sessions together; the session that was not used for the longest time loses its own. Each
open memory has three files, and a process may usually have 1,024."""
MAX_STORED_MEMORIES = 100
"""The most memories in the folder of a server, beyond which requests create none."""
MAX_WAITING_S = 20.0
"""How long a request waits for others that compute."""
MAX_REQUEST_S = 30.0
"""How long a request may take in all, its body included."""
MAX_HEADER_S = 10.0
"""How long the header of a request may take. The next request of a connection has 30 seconds."""
MAX_CONNECTIONS = 300
SHUTDOWN_S = 5.0
"""How long requests may go on after Ctrl-C."""
