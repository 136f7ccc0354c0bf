# attnd with its shipped models: docker build -t attnd . && docker run -p 127.0.0.1:8080:8080 attnd
# The image has our programs, the libraries that they load, and nothing else: no shell, no package manager
# (deploy/image/root.sh). What it is made of stands in /usr/share/doc/attnd/sbom.cdx.json. It runs with a
# read-only root file system, as any user, without capabilities.
#
# BASE says where the libraries come from, Debian 12 or 13: docker build --build-arg BASE=debian@sha256:... -t attnd .
# BACKENDS=--without-backends leaves out OpenBLAS: 40 MB less on the disk, and no training.
# STREAM=yes adds attnd-stream, which is started by
#     docker run --entrypoint /usr/local/bin/attnd-stream attnd --config /etc/attnd/stream.json
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
ARG BACKENDS=
ARG STREAM=no
WORKDIR /src
COPY deploy/install-deps.sh deploy/
RUN case $STREAM in yes) deploy/install-deps.sh build-stream ;; *) deploy/install-deps.sh build ;; esac
COPY . .
RUN make -s -j"$(nproc)"
RUN deploy/image/root.sh build /image ${BACKENDS} $(case $STREAM in yes) echo --with-stream ;; esac)
# A checkout under umask 077 would give models that only root can read.
RUN chmod -R a+rX models

FROM scratch
COPY --from=build /image/ /
COPY --from=build /src/models /models
USER 65532:65532
# The environment stands below flags: --listen and further arguments still win.
ENV ATTND_LISTEN=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
# Over TLS if ATTND_TLS_CERT_FILE is set.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
        CMD ["/usr/local/bin/attnd-healthcheck"]
ENTRYPOINT ["/usr/local/bin/attnd"]
CMD ["--model", "wafer-vit=/models/wafer-vit", "--model", "testlog-bert=/models/testlog-bert", \
     "--model", "kernel-bert=/models/kernel-bert"]
