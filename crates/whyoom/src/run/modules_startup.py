

def install(torch):
    if hasattr(torch, "cuda") and os.environ.get("WHYOOM_RECORDING") and supports(torch):
        Modules(torch, RecorderSink()).install()


run_the_other_sitecustomize()
