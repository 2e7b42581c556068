# The bridge's image. Two stages, so that it has no build files and no source tree.
FROM python:3.13.9-slim-trixie AS base

FROM base AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY bridge bridge
RUN python3 -m venv /opt/bridge \
 && /opt/bridge/bin/python -m pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt '.[documents,otel]'

FROM base
RUN useradd --system --no-create-home --uid 10001 bridge
COPY --from=build /opt/bridge /opt/bridge
ENV PATH=/opt/bridge/bin:$PATH PYTHONUNBUFFERED=1 BRIDGE_HOST=0.0.0.0
USER bridge
EXPOSE 3000
CMD ["bridge", "serve"]
