# Who the machines are, what they may do, and what they must know.

resource "google_project_service" "needed" {
  for_each = toset([
    "compute.googleapis.com",
    "dataproc.googleapis.com",
    "iam.googleapis.com",
    "iap.googleapis.com",
    "secretmanager.googleapis.com",
    "storage.googleapis.com",
  ])

  project            = var.project
  service            = each.key
  disable_on_destroy = false
}

resource "google_service_account" "machines" {
  project      = var.project
  account_id   = "${var.name}-machines"
  display_name = "Machines of the pasps cluster ${var.name}"

  depends_on = [google_project_service.needed]
}

# Dataproc refuses machines without this role; reading and writing the bucket is part of it.
resource "google_project_iam_member" "dataproc_worker" {
  project = var.project
  role    = "roles/dataproc.worker"
  member  = google_service_account.machines.member
}

resource "google_secret_manager_secret" "pasps" {
  for_each = local.secrets

  project   = var.project
  secret_id = each.value
  labels    = var.labels

  replication {
    auto {}
  }

  depends_on = [google_project_service.needed]
}

# Written once, when the secret is made: a write-only argument is kept neither in the plan nor in the state.
resource "google_secret_manager_secret_version" "pasps" {
  for_each = local.secrets

  secret                 = google_secret_manager_secret.pasps[each.key].id
  secret_data_wo         = lookup(var.secrets, each.key, null)
  secret_data_wo_version = 1
}

resource "google_secret_manager_secret_iam_member" "machines" {
  for_each = local.secrets

  project   = var.project
  secret_id = google_secret_manager_secret.pasps[each.key].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.machines.member
}

# What the operators get: the two tokens, and to see and to tunnel to the three masters, nothing else of the project.
resource "google_secret_manager_secret_iam_member" "operators" {
  for_each = {
    for pair in setproduct(["master", "predictor"], var.operators) : "${pair[0]} ${pair[1]}" => pair
  }

  project   = var.project
  secret_id = google_secret_manager_secret.pasps[each.value[0]].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = each.value[1]
}

resource "google_iap_tunnel_instance_iam_member" "operators" {
  for_each = {
    for pair in setproduct(local.masters, var.operators) : "${pair[0]} ${pair[1]}" => pair
  }

  project  = var.project
  zone     = google_dataproc_cluster.pasps.cluster_config[0].gce_cluster_config[0].zone
  instance = each.value[0]
  role     = "roles/iap.tunnelResourceAccessor"
  member   = each.value[1]

  depends_on = [google_dataproc_cluster.pasps]
}

# gcloud looks the machine up before it opens a tunnel to it
resource "google_compute_instance_iam_member" "operators" {
  for_each = {
    for pair in setproduct(local.masters, var.operators) : "${pair[0]} ${pair[1]}" => pair
  }

  project       = var.project
  zone          = google_dataproc_cluster.pasps.cluster_config[0].gce_cluster_config[0].zone
  instance_name = each.value[0]
  role          = "roles/compute.viewer"
  member        = each.value[1]

  depends_on = [google_dataproc_cluster.pasps]
}
