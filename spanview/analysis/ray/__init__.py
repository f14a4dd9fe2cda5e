"""Ray's calls: a PRODUCER that submits one, and the CONSUMERs that are its attempts.

names             how Ray names the spans of calls, which are attempts, and what people call the functions
executions        attempts that are executions of one attempt, in compiled graphs
calls             Ray calls: what they waited, how long they ran, and how they ended
call_groups       the actors, nodes and jobs that they belong to
joined            a trace in which each Ray call is one node
exits             actors that left by `exit_actor`
generators        functions whose spans end when a generator is made
outcomes          what became of calls, by Ray's own events or else as far as spans show
reasons           why a call has no attempt, as far as files show
waits             waiting before a span ran
wait_causes       what a call may wait for
waited_for        what Ray calls waited for, as far as spans show
told              Ray's own word on calls, by its events
meanwhile         what went on while one waited, where that isn't known
known_calls       what is known of all calls, found once for whoever asks of one trace after the other
workers           who a process is: pid, node, actor or replica
awaited           calls that a span likely awaited though another one had submitted them
lanes             what each process did over time
writers           which processes have written spans, and whether they are alive
unended           what has become of spans without an end
running           what may still run, as far as processes show
functions         calls counted by function, actor, node or job
unseen            what missing parents probably are
"""
