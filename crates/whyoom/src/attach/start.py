"""Runs in the thread that the interpreter chose, most often the program's first one, and does no more there than to
start a thread. `FOLDER` stands before this."""


def start():
    import _thread
    import os
    import time

    begun = time.perf_counter()

    def look():
        try:
            with open(FOLDER + "/look.py", "rb") as file:
                code = compile(file.read(), "<whyoom attach>", "exec")
            exec(code, {"__name__": "whyoom attach", "FOLDER": FOLDER, "in_main": in_main})
        except BaseException:  # noqa: BLE001 - nothing of this is the program's trouble.
            pass

    in_main = []
    try:
        # Several threads may come by; one looks. A folder can be made once.
        os.mkdir(FOLDER + "/begun", 0o700)
        _thread.start_new_thread(look, ())
        in_main.append(time.perf_counter() - begun)
    except Exception:  # noqa: BLE001
        pass


start()
