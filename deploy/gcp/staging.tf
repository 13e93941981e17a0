# One bucket: what the machines install, what Dataproc stages, the packages of the topologies.

resource "google_storage_bucket" "pasps" {
  project                     = var.project
  name                        = "${var.project}-${var.name}"
  location                    = var.region
  labels                      = var.labels
  force_destroy               = true
  public_access_prevention    = "enforced"
  uniform_bucket_level_access = true

  depends_on = [google_project_service.needed]
}

resource "google_storage_bucket_object" "wheels" {
  for_each = local.wheels

  bucket = google_storage_bucket.pasps.name
  name   = "${local.wheels_folder}/${each.key}"
  source = "${path.module}/staged/${each.key}"
}

resource "google_storage_bucket_object" "install" {
  bucket = google_storage_bucket.pasps.name
  name   = "install/${local.install_hash}/install-pasps.sh"
  source = "${path.module}/install-pasps.sh"
}

locals {
  wheels       = fileset("${path.module}/staged", "{*.whl,requirements.txt}")
  install_hash = filemd5("${path.module}/install-pasps.sh")

  # Named after their content: machines that are added later install what the first ones have, or the cluster is a new one.
  wheels_hash   = sha1(join(" ", [for wheel in sort(tolist(local.wheels)) : filesha1("${path.module}/staged/${wheel}")]))
  wheels_folder = "wheels/${local.wheels_hash}"
}
