# Apache Storm as it comes, plus one jar, one line of storm.yaml, and Python for the workers.
# Built from the root of the repository:
#   docker build -f deploy/docker/storm.Dockerfile -t stormbrain/storm .
ARG MAVEN_IMAGE=maven:3.9-eclipse-temurin-17
ARG STORM_IMAGE=storm:2.8.3

FROM ${MAVEN_IMAGE} AS plugin
WORKDIR /src
COPY brain/idl brain/idl
COPY storm-plugin/pom.xml storm-plugin/
COPY storm-plugin/src/main storm-plugin/src/main
COPY --chmod=755 deploy/docker/maven-build deploy/docker/
RUN --mount=type=secret,id=ca_certificates \
    --mount=type=secret,id=maven_settings \
    --mount=type=cache,target=/var/cache/maven \
    deploy/docker/maven-build storm-plugin/pom.xml \
    && mkdir /plugin \
    && find storm-plugin/target -maxdepth 1 -name 'storm-plugin-[0-9]*.jar' \
         ! -name '*-tests.jar' -exec cp {} /plugin/ ';'

FROM ${STORM_IMAGE}
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
USER root
# Ubuntu's and Debian's python3 come without venv; an image that has it needs no package index.
RUN python3 -c 'import ensurepip' 2>/dev/null \
    || { apt-get update \
         && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-venv \
         && rm -rf /var/lib/apt/lists/*; }
COPY pyproject.toml /tmp/build/
COPY --chmod=755 deploy/docker/requirements.py deploy/docker/pip-install /tmp/build/
RUN --mount=type=secret,id=ca_certificates \
    --mount=type=cache,target=/var/cache/pip \
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 is needed")' \
    && python3 -m venv /opt/workers \
    && cd /tmp/build \
    && python3 requirements.py pyproject.toml workers > requirements.txt \
    && ./pip-install /opt/workers -r requirements.txt \
    && rm -rf /tmp/build \
    && test -x /opt/workers/bin/streamparse_run
# The same jar for Nimbus (scheduler) and for the workers (hook).
COPY --from=plugin /plugin/ /apache-storm/extlib-daemon/
COPY --from=plugin /plugin/ /apache-storm/extlib/
COPY --chown=storm:storm deploy/docker/storm.yaml /conf/storm.template.yaml
COPY --chmod=755 deploy/docker/storm-entrypoint /usr/local/bin/
ENV PATH=/opt/workers/bin:$PATH
# A named volume takes its owner from the folder it is first mounted over.
RUN chown storm:storm /conf /data /logs
USER storm
ENTRYPOINT ["storm-entrypoint"]
CMD ["storm", "supervisor"]
