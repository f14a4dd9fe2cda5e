"""Questions to a store, one module a question. No input or output, and nothing is drawn.

intervals          the union of intervals, and how many overlap at a time
timetext           times and durations as people type them
telling            the progress of a long answer, for whoever waits for it
query_parse        the text of a query to its terms
query_values       how a query sees the values of attributes
query_regex        regular expressions, matched by RE2
query_base         what every term is made of: a test, what it costs, and which columns decide it
query_everywhere   the keys that search texts: `any`, `event`, `description`, `scope`
query_terms        what the other keys mean
query_subject      the span or trace that is asked about
query              a query as a whole
query_written      texts quoted so that a query takes them literally
bytesearch         what the bytes of records say about an attribute, without decoding
matches            which spans of a store match, and which traces
gate               `--fail-on`: what matches, and whether anything could
since              `--since`: a time, or the newest run
select             the traces that a command asks for
words              names, attributes and values of a store, for completion
misses             why a query matches nothing
complete           what the term under the cursor may become
grouping           what spans can be grouped by
walk               the spans of many traces in the order of their trees
consistent         parents and times of a trace without contradictions
selftime           self time
forest_selftime    the same for a whole forest
critical           the critical path
waits              waiting before a span ran
waited_for         what Ray calls waited for
meanwhile          what went on while one waited, where that isn't known
flame              call paths: their counts and times
percentiles        percentiles, and durations by powers of ten
stats              counts, percentiles and self time of groups
root_groups        traces by the names of their roots, and of requests by route
diff               two sides merged by call path
diff_groups        two sides by name or by Ray function
workers            who a process is: pid, node, actor or replica
lanes              what each process did over time
ray_names          how Ray names the spans of calls, which are attempts, and what people call the functions
serve_calls        Serve's calls of replicas, where two hooks are on
calls              Ray calls: what they waited, how long they ran, and how they ended
call_groups        the actors, nodes and jobs that they belong to
executions         runs of one attempt, as of a compiled graph, which are no retries
exits              actors that left by `exit_actor`
generators         functions whose spans end when a generator is made
joined             a trace in which each Ray call is one node
failed_arguments   calls that never ran because a task whose result they take had failed
reasons            why a call has no attempt, as far as files show
writers            which processes have written spans, and whether they are alive
unended            what has become of spans without an end
running            what may still run, as far as processes show
unseen             what missing parents probably are
serve_nested       what a replica waited in queues of the deployments that it called
serve              Serve's requests: proxy, routing and replica as one
serve_pairs        the two traces of one FastAPI request
serve_groups       requests by application, deployment, route and status
known_calls        what is known of all calls, found out once for many traces
answer             where the time of a trace went, in a few parts that add up to it
failures           failed spans, the newest first, each where it began
silent             what failed, though no error says so
log_times          when a line of a log was written
log_lines          which lines of logs belong to a span
reused_ids         spans that share their ids though they are different spans
linked             which spans link to a span
diagnosis/         what `check` finds
"""
