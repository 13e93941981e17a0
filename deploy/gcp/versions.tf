terraform {
  # 1.11 has write-only arguments: with them no secret enters the state
  required_version = ">= 1.11"

  required_providers {
    google = {
      source = "hashicorp/google"
      # the version whose schema check_schema.py reads
      version = "~> 6.50"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region
}
