output "connection" {
  description = "What `tunnel` and `submit` need, in one line."

  value = join(" ", [
    var.project,
    google_dataproc_cluster.pasps.cluster_config[0].gce_cluster_config[0].zone,
    var.master_port,
    var.predictor_port,
    local.secrets["master"],
    local.secrets["predictor"],
    join(",", local.masters),
  ])
}

output "bucket" {
  description = "Wheels, packages of topologies and what Dataproc stages."
  value       = google_storage_bucket.pasps.name
}

output "machines" {
  description = "The service account of the machines."
  value       = google_service_account.machines.email
}
