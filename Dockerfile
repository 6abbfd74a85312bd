# whyoom on a small Python image:
#   docker build --tag whyoom .
#   docker run --rm --volume "$PWD:/data" whyoom why train.log
FROM rust:1.95-bookworm AS build
# Debian's packages change within a release; a fixed version would soon be gone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# Builds the wheel, and uses all of it in an environment with nothing else.
RUN cargo xtask wheel

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="whyoom" \
      org.opencontainers.image.source="https://github.com/whyoom/whyoom" \
      org.opencontainers.image.licenses="Apache-2.0 OR MIT"
RUN --mount=type=bind,from=build,source=/source/dist,target=/dist \
    pip install --no-cache-dir --no-index /dist/*.whl \
    && useradd --uid 1000 --create-home whyoom \
    && install --directory --owner=whyoom --group=whyoom /data
USER 1000:1000
WORKDIR /data
ENTRYPOINT ["whyoom"]
CMD ["--help"]
