# The brain: Python, the algorithms, the Thrift door; no JVM and no Spark.
# Built from the root of the repository:
#   docker build -f deploy/docker/brain.Dockerfile -t stormbrain/brain .
ARG PYTHON_IMAGE=python:3.12-slim

FROM ${PYTHON_IMAGE} AS build
# Package index and proxies come with the build, never from a file of the repository.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
# Extras of pyproject.toml that the image is to have all the same, e.g. "pipeline" for
# `serve --profiles`; `stormbrain pipeline` wants a Java runtime besides.
ARG STORMBRAIN_EXTRAS=
WORKDIR /src
RUN python3 -m venv /opt/stormbrain
COPY pyproject.toml ./
COPY --chmod=755 deploy/docker/requirements.py deploy/docker/pip-install deploy/docker/slim \
     deploy/docker/
# A layer of its own: it changes only when a pinned version does.
RUN --mount=type=secret,id=ca_certificates \
    --mount=type=cache,target=/var/cache/pip \
    python3 deploy/docker/requirements.py pyproject.toml brain ${STORMBRAIN_EXTRAS} \
         > /tmp/requirements.txt \
    && deploy/docker/pip-install /opt/stormbrain --no-compile -r /tmp/requirements.txt
COPY brain brain
COPY topologies topologies
COPY deploy/docker/smoke.json /tmp/smoke.json
# The last lines show that nothing is missing, and leave bytecode of what is really used: numba's
# compiler by auto, too, or every start of a solver would compile it from source.
RUN touch README.md \
    && /opt/stormbrain/bin/pip install --disable-pip-version-check \
         --no-deps --no-build-isolation --no-index . \
    && deploy/docker/slim /opt/stormbrain \
    && /opt/stormbrain/bin/stormbrain --version \
    && /opt/stormbrain/bin/stormbrain serve --help > /dev/null \
    && /opt/stormbrain/bin/python -c 'import brain.dashboard.server, brain.service.runtime' \
    && for algorithm in metis exact auto; do \
         NUMBA_CACHE_DIR=/tmp/numba /opt/stormbrain/bin/stormbrain solve /tmp/smoke.json \
           --algorithm "$algorithm" || exit 1; \
       done

FROM ${PYTHON_IMAGE}
RUN groupadd --system --gid 1000 stormbrain \
    && useradd --system --gid stormbrain --uid 1000 --home-dir /var/lib/stormbrain stormbrain \
    && install -d -o stormbrain -g stormbrain /var/lib/stormbrain
COPY --from=build /opt/stormbrain /opt/stormbrain
COPY --chmod=755 deploy/docker/brain-health deploy/docker/serve-brain \
     deploy/docker/submit-topology /usr/local/bin/
ENV PATH=/opt/stormbrain/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/lib/stormbrain/numba \
    STORMBRAIN_STATE=/var/lib/stormbrain
USER stormbrain
WORKDIR /var/lib/stormbrain
EXPOSE 6790 8790
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=20s --start-period=300s --retries=4 CMD ["brain-health"]
ENTRYPOINT ["stormbrain"]
CMD ["serve", "--listen", "0.0.0.0:6790", "--zookeeper", "zookeeper:2181"]
