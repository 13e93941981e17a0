"""A Java process of Spark's that was got ready, with the real Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pasps.cluster.launch.spark_java import begin_java


def test_getting_ready_leaves_no_secret_that_an_application_would_take_for_its_own() -> None:
    java = begin_java()
    assert java is not None
    try:
        java.warm()
        jvm = java.gateway().jvm
        login = jvm.org.apache.hadoop.security.UserGroupInformation
        assert login.getCurrentUser().getCredentials().numberOfSecretKeys() == 0
        conf = jvm.SparkConf(False).setMaster("local[1]").setAppName("next").set("spark.ui.enabled", "false")
        context = jvm.JavaSparkContext(conf.set("spark.driver.bindAddress", "127.0.0.1").set("spark.authenticate", "true"))
        assert login.getCurrentUser().getCredentials().numberOfSecretKeys() == 1, "this is where a secret would have been found"
        context.stop()
    finally:
        java.end()
