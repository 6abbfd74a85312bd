

def install(torch):
    if hasattr(torch, "cuda") and os.environ.get("WHYOOM_RECORDING"):
        Modules(torch, RecorderSink()).install()


run_the_other_sitecustomize()
