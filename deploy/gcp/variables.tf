variable "project" {
  description = "The project that pays and holds everything."
  type        = string
}

variable "region" {
  description = "Where the cluster, its network and its bucket are."
  type        = string
  default     = "us-central1"
}

variable "zone" {
  description = "A zone of the region; null lets Dataproc choose one that has room."
  type        = string
  default     = null
}

variable "name" {
  description = "The cluster's name; everything else is named after it."
  type        = string
  default     = "pasps"

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,20}[a-z0-9])?$", var.name))
    error_message = "At most 22 lower case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "labels" {
  description = "Labels of the cluster, its machines and its bucket, for the bill."
  type        = map(string)
  default     = {}
}

variable "image_version" {
  description = "Dataproc's image, which must have Spark 4.1 or newer; python_version must be the Python that it has."
  type        = string
  default     = "3.0-debian13"
}

variable "python_version" {
  description = "The image's Python, as major.minor: 3.12 in 3.0-debian13."
  type        = string
  default     = "3.12"

  validation {
    condition     = can(regex("^3\\.[0-9]+$", var.python_version))
    error_message = "Major and minor version, as in 3.12."
  }
}

variable "workers" {
  description = "How many machines run the topologies' workers; seven as in the paper's testbed."
  type        = number
  default     = 7

  validation {
    condition     = var.workers >= 2
    error_message = "Dataproc needs two at least."
  }
}

variable "worker_machine_type" {
  description = "The machine of a worker; the paper's testbed has n1-highcpu-8."
  type        = string
  default     = "n1-highcpu-8"
}

variable "master_machine_type" {
  description = "The machine of a master, which also runs ZooKeeper, HDFS, YARN, the predictor and the topologies' drivers."
  type        = string
  default     = "n1-standard-4"
}

variable "boot_disk_type" {
  description = "The disk of every machine."
  type        = string
  default     = "pd-balanced"
}

variable "boot_disk_gb" {
  description = "The size of every machine's disk; the data path needs none of it."
  type        = number
  default     = 50
}

variable "autoscaling" {
  description = "Null keeps the number of machines; else Dataproc adds up to so many secondary workers while topologies wait for places."
  type = object({
    max_secondary_workers         = number
    cooldown_period               = optional(string, "120s")
    graceful_decommission_timeout = optional(string, "300s")
  })
  default = null
}

variable "properties" {
  description = "Further Dataproc properties, as prefix:key = value; they win over those of cluster.tf."
  type        = map(string)
  default     = {}
}

variable "subnet_range" {
  description = "Addresses of the cluster's own network."
  type        = string
  default     = "10.10.0.0/24"
}

variable "master_port" {
  description = "The port of the pasps master's API."
  type        = number
  default     = 8627
}

variable "predictor_port" {
  description = "The port of the predictor's API."
  type        = number
  default     = 8888
}

variable "operators" {
  description = "Who else may open tunnels and read the tokens, as user:... or group:...; owners of the project may anyway."
  type        = list(string)
  default     = []
}

variable "secrets" {
  description = "What the secrets are given when they are made; `up` draws it anew each time and it is stored nowhere else."
  type        = map(string)
  default     = {}
  ephemeral   = true
  sensitive   = true
}
