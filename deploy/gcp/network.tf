# A network of its own. No machine has an external address and there is no NAT, so nothing on the internet reaches
# a machine and no machine reaches the internet. Google's APIs (storage, secrets, Dataproc's control) are reached
# through Private Google Access; what pip would fetch is staged in the bucket.

resource "google_compute_network" "pasps" {
  project                 = var.project
  name                    = var.name
  auto_create_subnetworks = false

  depends_on = [google_project_service.needed]
}

resource "google_compute_subnetwork" "pasps" {
  project                  = var.project
  region                   = var.region
  name                     = var.name
  network                  = google_compute_network.pasps.id
  ip_cidr_range            = var.subnet_range
  private_ip_google_access = true
}

# Dataproc's machines must reach each other on every port, and so must pasps' workers.
resource "google_compute_firewall" "inside" {
  project     = var.project
  name        = "${var.name}-inside"
  network     = google_compute_network.pasps.id
  description = "The cluster's machines among themselves"
  direction   = "INGRESS"
  source_tags = [local.tag]
  target_tags = [local.tag]

  allow {
    protocol = "icmp"
  }

  allow {
    protocol = "tcp"
    ports    = ["0-65535"]
  }

  allow {
    protocol = "udp"
    ports    = ["0-65535"]
  }
}

# The only way in from elsewhere: Google's Identity-Aware Proxy, which asks who you are before it forwards anything.
resource "google_compute_firewall" "tunnels" {
  project       = var.project
  name          = "${var.name}-tunnels"
  network       = google_compute_network.pasps.id
  description   = "SSH and the two APIs, from Identity-Aware Proxy's addresses only"
  direction     = "INGRESS"
  source_ranges = ["35.235.240.0/20"]
  target_tags   = [local.tag]

  allow {
    protocol = "tcp"
    ports    = ["22", tostring(var.master_port), tostring(var.predictor_port)]
  }
}
