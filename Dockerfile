# What runs `qingtuan serve` in a container: see docs/guide/docker.md.
#
#   docker compose up -d                                              all of it, NapCat beside it
#   docker build -t qingtuan --build-arg EXTRAS="documents a2a sandbox local" .   with the engine of the local model

FROM python:3.13-slim-bookworm AS build
ARG EXTRAS="documents a2a sandbox"
WORKDIR /src
RUN python -m venv /opt/qingtuan
COPY requirements*.lock ./
RUN --mount=type=cache,target=/pip \
    set -e; export PIP_CACHE_DIR=/pip; for extra in "" $EXTRAS; do \
        /opt/qingtuan/bin/pip install --disable-pip-version-check --require-hashes \
            -r "requirements${extra:+-$extra}.lock"; \
    done
COPY pyproject.toml README.md README.en.md LICENSE CHANGELOG.md ./
COPY src src
COPY servers servers
RUN /opt/qingtuan/bin/pip install --disable-pip-version-check --no-deps --no-build-isolation . ./servers/*/ \
    && /opt/qingtuan/bin/python -m compileall -q /opt/qingtuan/lib

FROM python:3.13-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends git openssh-client \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 qingtuan \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin qingtuan \
    && install -d -o qingtuan -g qingtuan -m 0700 /data /napcat
COPY --from=build /opt/qingtuan /opt/qingtuan
# In a container the port is reached from outside only as far as it is published.
ENV PATH=/opt/qingtuan/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    LANG=C.UTF-8 \
    QINGTUAN_HOME=/data \
    QINGTUAN_SERVER__HOST=0.0.0.0 \
    QINGTUAN_SERVER__PORT=8080
USER 10001:10001
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT ["qingtuan"]
CMD ["serve"]
