#!/usr/bin/env bash
# Dataproc runs this on every machine when it is made, as root: it installs pasps from the staged wheels, and on the
# masters it starts the pasps master and the predictor as systemd units. What it needs to know is in the metadata
# that cluster.tf gives the machines. It can be run again: it ends where it ended the first time.
set -euo pipefail

root=${PASPS_INSTALL_ROOT:-} # another place than / for tests
home=/opt/pasps
settings=$root/etc/pasps
units=$root/etc/systemd/system

say() {
  printf 'install-pasps: %s\n' "$*" >&2
}

fail() {
  say "$*"
  exit 1
}

metadata() {
  curl --fail --silent --show-error --retry 5 --header 'Metadata-Flavor: Google' \
    "http://metadata.google.internal/computeMetadata/v1/instance/$1"
}

attribute() {
  metadata "attributes/$1"
}

secret() {
  gcloud secrets versions access latest --project="$(attribute pasps-project)" --secret="$(attribute "pasps-secret-$1")"
}

# The image's interpreter; where it is differs from image to image, so each place is asked for its version.
find_python() {
  local wanted=$1 candidate
  for candidate in "$root/opt/conda/default/bin/python" "python$wanted" "$(bash -lc 'command -v python3' || true)" /usr/bin/python3; do
    if [[ -n $candidate && $("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) == "$wanted" ]]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  fail "no Python $wanted on this image; give Terraform the python_version that the image_version has"
}

install_wheels() {
  local wanted python wheels pip
  wanted=$(attribute pasps-python)
  python=$(find_python "$wanted")
  wheels=$(mktemp -d)
  gcloud storage cp "$(attribute pasps-wheels)/*" "$wheels/"
  # without pip in it, since an image's Python may lack ensurepip; pip runs out of its own wheel
  "$python" -m venv --clear --without-pip "$root$home"
  pip=$(echo "$wheels"/pip-*.whl)
  "$root$home/bin/python" "$pip/pip" install --quiet --no-index --find-links "$wheels" --requirement "$wheels/requirements.txt"
  rm -rf "$wheels"
  say "installed $("$root$home/bin/pasps" --version) for $("$root$home/bin/python" --version)"
}

# A user of its own; YARN runs the workers as its own user, so what is installed must be readable by all.
make_user() {
  id pasps >/dev/null 2>&1 || useradd --system --home-dir /var/lib/pasps --shell /usr/sbin/nologin pasps
  chmod -R a+rX "$root$home"
}

# The cluster's own Spark, with its connector for gs://, its YARN and its Java.
write_environment() {
  local py4j java
  py4j=$(echo "$root"/usr/lib/spark/python/lib/py4j-*-src.zip)
  java=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
  mkdir -p "$settings"
  cat >"$settings/environment" <<EOF
PATH=$home/bin:/usr/local/bin:/usr/bin:/bin:/snap/bin
PASPS_HOME=/var/lib/pasps
JAVA_HOME=$java
SPARK_HOME=/usr/lib/spark
SPARK_CONF_DIR=/etc/spark/conf
SPARK_LOCAL_IP=$1
HADOOP_CONF_DIR=/etc/hadoop/conf
YARN_CONF_DIR=/etc/hadoop/conf
PYSPARK_PYTHON=$home/bin/python
PYSPARK_DRIVER_PYTHON=$home/bin/python
PYTHONPATH=/usr/lib/spark/python:${py4j#"$root"}
EOF
}

# Root reads them for the units; nobody else can, and no command line shows them.
write_secrets() {
  local master predictor zookeeper
  master=$(secret master)
  predictor=$(secret predictor)
  zookeeper=$(secret zookeeper)
  umask 077
  printf 'PASPS_PREDICTOR_TOKEN=%s\n' "$predictor" >"$settings/predictor.secrets"
  printf 'PASPS_TOKEN=%s\nPASPS_PREDICTOR_TOKEN=%s\nPASPS_ZOOKEEPER_AUTH=%s\n' \
    "$master" "$predictor" "$zookeeper" >"$settings/master.secrets"
  umask 022
}

# Its libraries cache what they compile: the one directory that it may write.
write_predictor_unit() {
  local address=$1 port=$2
  cat >"$units/pasps-predictor.service" <<EOF
[Unit]
Description=pasps predictor
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
User=pasps
EnvironmentFile=/etc/pasps/predictor.secrets
StateDirectory=pasps-predictor
Environment=HOME=/var/lib/pasps-predictor NUMBA_CACHE_DIR=/var/lib/pasps-predictor MPLCONFIGDIR=/var/lib/pasps-predictor
ExecStart=$home/bin/pasps predictor --host $address --port $port
Restart=always
RestartSec=2
StandardOutput=journal
StandardError=journal
SyslogIdentifier=pasps-predictor
NoNewPrivileges=true
PrivateTmp=true
ProtectHome=true
ProtectSystem=strict

[Install]
WantedBy=multi-user.target
EOF
}

# KillMode=process and OOMPolicy=continue: the drivers of the topologies are children of this unit and must outlive
# their master, whether it is stopped, restarted or killed. For the same reason no PrivateTmp, which would take their
# /tmp away when the master stops.
write_master_unit() {
  local address=$1 port=$2 predictor_port=$3 zookeeper=$4 packages=$5
  cat >"$units/pasps-master.service" <<EOF
[Unit]
Description=pasps master
Wants=network-online.target pasps-predictor.service
After=network-online.target pasps-predictor.service
StartLimitIntervalSec=0

[Service]
User=pasps
EnvironmentFile=/etc/pasps/environment
EnvironmentFile=/etc/pasps/master.secrets
StateDirectory=pasps
WorkingDirectory=/var/lib/pasps
ExecStart=$home/bin/pasps master --spark yarn --zookeeper $zookeeper --packages $packages --host $address --port $port --bind $address --predictor http://$address:$predictor_port
Restart=always
RestartSec=2
KillMode=process
OOMPolicy=continue
LimitNOFILE=65536
StandardOutput=journal
StandardError=journal
SyslogIdentifier=pasps-master
NoNewPrivileges=true

[Install]
WantedBy=multi-user.target
EOF
}

start_master() {
  local address port predictor_port
  # the internal interface's; the machine has no other address
  address=$(metadata network-interfaces/0/ip)
  port=$(attribute pasps-master-port)
  predictor_port=$(attribute pasps-predictor-port)
  mkdir -p "$units"
  write_environment "$address"
  write_secrets
  write_predictor_unit "$address" "$predictor_port"
  write_master_unit "$address" "$port" "$predictor_port" "$(attribute pasps-zookeeper)" "$(attribute pasps-packages)"
  systemctl daemon-reload
  systemctl enable pasps-predictor.service pasps-master.service
  systemctl restart pasps-predictor.service pasps-master.service
  say "started pasps-predictor and pasps-master on $address"
}

main() {
  install_wheels
  make_user
  if [[ $(attribute dataproc-role) == Master ]]; then
    start_master
  fi
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  main "$@"
fi
