locals {
  tag     = "${var.name}-cluster"
  masters = [for number in range(3) : "${var.name}-m-${number}"]

  # Dataproc puts a ZooKeeper server on each of the three masters
  zookeeper = "${join(",", [for master in local.masters : "${master}:2181"])}/pasps"

  secrets = {
    master    = "${var.name}-master-token"
    predictor = "${var.name}-predictor-token"
    zookeeper = "${var.name}-zookeeper-auth"
  }

  properties = {
    # YARN would count memory only, and give a machine as many containers at once as it has room for: one topology's workers
    # are to be spread over machines, so it counts cores too and gives one container for each beat of a machine
    "capacity-scheduler:yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled" = "false"
    "capacity-scheduler:yarn.scheduler.capacity.resource-calculator"                             = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"

    # pasps' workers are Python processes outside the executor's heap; YARN ends a container that takes more than it asked for
    "spark:spark.executor.memoryOverhead" = "1g"

    # needs no home in HDFS for the user that the masters run as
    "spark:spark.yarn.stagingDir" = "gs://${google_storage_bucket.pasps.name}/spark"
  }
}

resource "google_dataproc_cluster" "pasps" {
  project                       = var.project
  region                        = var.region
  name                          = var.name
  labels                        = var.labels
  graceful_decommission_timeout = "300s"

  cluster_config {
    staging_bucket = google_storage_bucket.pasps.name
    temp_bucket    = google_storage_bucket.pasps.name

    gce_cluster_config {
      zone                   = var.zone
      subnetwork             = google_compute_subnetwork.pasps.self_link
      internal_ip_only       = true
      tags                   = [local.tag]
      service_account        = google_service_account.machines.email
      service_account_scopes = ["cloud-platform"]

      # read by install-pasps.sh; names only, the secrets themselves stay in Secret Manager
      metadata = {
        block-project-ssh-keys = "true"
        enable-oslogin         = "TRUE"
        pasps-master-port      = tostring(var.master_port)
        pasps-packages         = "gs://${google_storage_bucket.pasps.name}/packages"
        pasps-predictor-port   = tostring(var.predictor_port)
        pasps-project          = var.project
        pasps-python           = var.python_version
        pasps-secret-master    = local.secrets["master"]
        pasps-secret-predictor = local.secrets["predictor"]
        pasps-secret-zookeeper = local.secrets["zookeeper"]
        pasps-wheels           = "gs://${google_storage_bucket.pasps.name}/${local.wheels_folder}"
        pasps-zookeeper        = local.zookeeper
      }
    }

    # three make the cluster highly available: HDFS, YARN, ZooKeeper and pasps each lose one without stopping
    master_config {
      num_instances = 3
      machine_type  = var.master_machine_type

      disk_config {
        boot_disk_type    = var.boot_disk_type
        boot_disk_size_gb = var.boot_disk_gb
      }
    }

    worker_config {
      num_instances = var.workers
      machine_type  = var.worker_machine_type

      disk_config {
        boot_disk_type    = var.boot_disk_type
        boot_disk_size_gb = var.boot_disk_gb
      }
    }

    # secondary workers, which only the autoscaler makes; never preemptible: a lost machine costs replays
    preemptible_worker_config {
      num_instances  = 0
      preemptibility = "NON_PREEMPTIBLE"

      disk_config {
        boot_disk_type    = var.boot_disk_type
        boot_disk_size_gb = var.boot_disk_gb
      }
    }

    software_config {
      image_version       = var.image_version
      optional_components = ["ZOOKEEPER"]
      override_properties = merge(local.properties, var.properties)
    }

    endpoint_config {
      enable_http_port_access = false
    }

    initialization_action {
      script      = "gs://${google_storage_bucket.pasps.name}/${google_storage_bucket_object.install.name}"
      timeout_sec = 900
    }

    dynamic "autoscaling_config" {
      for_each = google_dataproc_autoscaling_policy.pasps

      content {
        policy_uri = autoscaling_config.value.name
      }
    }
  }

  lifecycle {
    # the autoscaler's, not ours
    ignore_changes = [cluster_config[0].preemptible_worker_config[0].num_instances]

    precondition {
      condition     = anytrue([for wheel in local.wheels : strcontains(wheel, "-cp${replace(var.python_version, ".", "")}-")])
      error_message = "No wheels for Python ${var.python_version} in deploy/gcp/staged: make them with deploy/gcp/up, and set python_version in terraform.tfvars, where it is read too."
    }
  }

  depends_on = [
    google_compute_firewall.inside,
    google_project_iam_member.dataproc_worker,
    google_secret_manager_secret_iam_member.machines,
    google_secret_manager_secret_version.pasps,
    google_storage_bucket_object.wheels,
  ]
}

# Optional. The primary workers stay; secondary ones come while a topology waits for places and go when they are idle.
resource "google_dataproc_autoscaling_policy" "pasps" {
  count = var.autoscaling == null ? 0 : 1

  project   = var.project
  location  = var.region
  policy_id = var.name

  worker_config {
    min_instances = var.workers
    max_instances = var.workers
  }

  secondary_worker_config {
    max_instances = var.autoscaling.max_secondary_workers
  }

  basic_algorithm {
    cooldown_period = var.autoscaling.cooldown_period

    yarn_config {
      graceful_decommission_timeout = var.autoscaling.graceful_decommission_timeout
      scale_up_factor               = 1
      scale_down_factor             = 1
    }
  }

  depends_on = [google_project_service.needed]
}
