"""The predictor service: what load comes next, asked over HTTP; it shares no code with `pasps`, only the JSON of docs/predictor.md.

General layout, each part importing only from those before it:
  errors, settings, model, metrics   the vocabulary
  models/, time_regression, searched, registry, forecast   what is computed; pure, and without a library until the first fit
  trained/   models that are trained beforehand: manifest and artifacts for the server, all else with numpy
  job, fit_loop, fork_server   what runs in the processes that fit
  fit_process, lane, fitting         the server's side of those processes
  schemas, body, service, routes, legacy_routes, guard, app   HTTP
  serve, __main__                    the process and its command line
"""
