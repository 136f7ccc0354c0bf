# attnd with its shipped models: docker build -t attnd . && docker run -p 127.0.0.1:8080:8080 attnd
# The image runs with a read-only root file system, as any user, without capabilities.
#
# BASE pins what both stages start from: docker build --build-arg BASE=debian@sha256:... -t attnd .
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY deploy/install-deps.sh deploy/
RUN deploy/install-deps.sh build
COPY . .
RUN make -s -j"$(nproc)"
# A checkout under umask 077 would give models that only root can read.
RUN chmod -R a+rX models LICENSE

FROM ${BASE}
COPY deploy/install-deps.sh /tmp/
RUN /tmp/install-deps.sh run && rm -rf /tmp/install-deps.sh /var/lib/apt/lists/* \
        /var/cache/apt/* /var/log/apt /var/log/dpkg.log
COPY --from=build /src/build/attnd /src/build/attnd-predict /src/build/attnd-inspect \
        /src/build/attnd-eval /src/build/attnd-train /src/build/attnd-vocab /src/build/attnd-fit \
        /src/build/attnd-prune /src/build/attnd-audit /src/build/attnd-healthcheck /usr/local/bin/
COPY --from=build /src/models /models
COPY --from=build /src/LICENSE /usr/share/doc/attnd/
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
