%% Runs a tree script (sim/tree_script.hpp) on Erlang/OTP's own supervisor and prints what happened.
-module(tree_script).
-export([main/1, run_file/1, start_sup/2, start_worker/2, start_pool_child/2, init/1, worker_init/3]).
-behaviour(supervisor).

main(File) ->
    run_file(File),
    halt(0).

run_file(File) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    ets:new(counts, [named_table, public]),
    ets:new(alive_root, [named_table, public]),
    {ok, Bin} = file:read_file(File),
    Lines = [string:trim(hd(string:split(L, "#"))) || L <- string:split(binary_to_list(Bin), "\n", all)],
    {Decls, Cmds} = lists:splitwith(fun(L) -> L =/= "start" end, [L || L <- Lines, L =/= ""]),
    Nodes = [decl(string:lexemes(L, " ")) || L <- Decls],
    run(Cmds, #{nodes => Nodes, shown => #{}, root => undefined, rootstate => undefined}).

decl([Kind, Name, "under", Parent | Opts]) ->
    #{kind => list_to_atom(Kind), name => list_to_atom(Name), parent => list_to_atom(Parent), opts => opts(Opts)}.
opts(Os) -> maps:from_list([opt(string:split(O, "=")) || O <- Os]).
opt([K, V]) -> {list_to_atom(K), V};
opt([K]) -> {list_to_atom(K), true}.
int(K, O, D) -> case maps:get(K, O, D) of V when is_list(V) -> list_to_integer(V); V -> V end.
atm(K, O, D) -> case maps:get(K, O, D) of V when is_list(V) -> list_to_atom(V); V -> V end.
ints(K, O) -> [list_to_integer(X) || X <- string:lexemes(maps:get(K, O, ""), ",")].
shutdown(K, O, D) ->
    case maps:get(K, O, D) of
        "infinity" -> infinity;
        "brutal_kill" -> brutal_kill;
        V when is_list(V) -> list_to_integer(V);
        V -> V
    end.

spec(N = #{kind := Kind, name := Name, opts := O}, Nodes) ->
    Base = #{id => Name, restart => atm(restart, O, permanent), significant => maps:is_key(significant, O)},
    case Kind of
        worker -> Base#{start => {?MODULE, start_worker, [Name, O]}, type => worker,
                        shutdown => shutdown(shutdown, O, 5000)};
        _ -> Base#{start => {?MODULE, start_sup, [N, Nodes]}, type => supervisor,
                   shutdown => shutdown(shutdown, O, infinity)}
    end.

bump(Name) -> ets:update_counter(counts, Name, 1, {Name, 0}).
start_sup(N = #{name := Name}, Nodes) ->
    await_free(Name), bump(Name),
    supervisor:start_link({local, Name}, ?MODULE, {N, Nodes}).
%% A killed supervisor's children die by their links a moment later; a restart waits until the old ones are dead.
await_free(Name) ->
    case whereis(Name) of
        undefined -> ok;
        P ->
            M = monitor(process, P),
            receive {'DOWN', M, _, _, _} -> await_free(Name) after 10000 -> exit({still_alive, Name}) end
    end.
init({#{kind := pool, opts := O}, _}) ->
    {ok, {#{strategy => simple_one_for_one, intensity => int(intensity, O, 1), period => int(period, O, 5)},
          [#{id => c, start => {?MODULE, start_pool_child, []}, restart => atm(child_restart, O, temporary),
             shutdown => shutdown(child_shutdown, O, 5000)}]}};
init({#{name := Name, opts := O}, Nodes}) ->
    {ok, {#{strategy => atm(strategy, O, one_for_one), intensity => int(intensity, O, 1), period => int(period, O, 5),
            auto_shutdown => atm(auto_shutdown, O, never)},
          [spec(C, Nodes) || C = #{parent := P} <- Nodes, P =:= Name]}}.

start_pool_child(Name, O) -> start_worker(Name, O).
start_worker(Name, O) ->
    await_free(Name),
    N = bump(Name),
    case {lists:member(N, ints(fails, O)), lists:member(N, ints(ignores, O))} of
        {true, _} -> {error, planned};
        {_, true} -> ignore;
        _ -> proc_lib:start_link(?MODULE, worker_init, [self(), Name, O])
    end.
worker_init(Parent, Name, O) ->
    Slow = int(slow, O, 0),
    process_flag(trap_exit, maps:is_key(traps, O) orelse Slow > 0),
    register(Name, self()),
    proc_lib:init_ack(Parent, {ok, self()}),
    case maps:is_key(unlinks, O) of true -> unlink(Parent); false -> ok end,
    worker_loop(Parent, Slow).
worker_loop(Parent, Slow) ->
    receive
        {die, R} -> exit(R);
        {'EXIT', Parent, R} -> timer:sleep(Slow), exit(R);
        _ -> worker_loop(Parent, Slow)
    end.

run([], _) -> ok;
run([Cmd | Rest], S) ->
    io:format("> ~s~n", [Cmd]),
    {Answer, S1} = do(string:lexemes(Cmd, " "), S),
    case Answer of none -> ok; _ -> io:format("~s~n", [Answer]) end,
    S2 = settle(S1),
    Now = states(S2),
    Shown = maps:get(shown, S2),
    [io:format("~s ~s~n", [N, St]) || {N, St} <- Now, maps:get(N, Shown, none) =/= St],
    run(Rest, S2#{shown := maps:from_list(Now)}).

do(["start"], S = #{nodes := [Root | _] = Nodes}) ->
    case start_sup(Root, Nodes) of
        {ok, Pid} -> {"ok", S#{root := Pid, rootstate := up}};
        _ -> {"error failed", S#{rootstate := {gone, failed}}}
    end;
do(["crash", N], S) -> {die(N, crashed), S};
do(["exit", N, "kill"], S) ->
    {case whereis(list_to_atom(N)) of undefined -> "noproc"; P -> exit(P, kill), none end, S};
do(["exit", N, R], S) -> {die(N, list_to_atom(R)), S};
do(["terminate_child", Sup, N], S) -> {api(Sup, fun(P) -> supervisor:terminate_child(P, child_ref(Sup, N, S)) end), S};
do(["restart_child", Sup, N], S) -> {api(Sup, fun(P) -> supervisor:restart_child(P, list_to_atom(N)) end), S};
do(["delete_child", Sup, N], S) -> {api(Sup, fun(P) -> supervisor:delete_child(P, list_to_atom(N)) end), S};
do(["start_child", Pool, "as", N], S) ->
    A = api(Pool, fun(P) -> supervisor:start_child(P, [list_to_atom(N), #{}]) end),
    {A, add_node(#{kind => pooled, name => list_to_atom(N), parent => list_to_atom(Pool), opts => #{}}, S)};
do(["start_worker", Sup, N | Opts], S) ->
    Node = #{kind => worker, name => list_to_atom(N), parent => list_to_atom(Sup), opts => opts(Opts)},
    A = api(Sup, fun(P) -> supervisor:start_child(P, spec(Node, [])) end),
    {A, add_node(Node, S)};
do(["count", Sup], S) ->
    {case whereis(list_to_atom(Sup)) of
        undefined -> "noproc";
        P ->
            C = supervisor:count_children(P),
            io_lib:format("specs=~p active=~p supervisors=~p workers=~p",
                          [proplists:get_value(K, C) || K <- [specs, active, supervisors, workers]])
    end, S};
do(["stop"], S = #{root := Root}) ->
    case is_pid(Root) andalso is_process_alive(Root) of
        true -> exit(Root, shutdown), {none, S};
        false -> {"noproc", S}
    end;
do(["wait", Ms], S) -> timer:sleep(list_to_integer(Ms)), {none, S}.

add_node(N = #{name := Name}, S = #{nodes := Ns}) ->
    case [1 || #{name := X} <- Ns, X =:= Name] of [] -> S#{nodes := Ns ++ [N]}; _ -> S end.
die(N, R) -> case whereis(list_to_atom(N)) of undefined -> "noproc"; P -> P ! {die, R}, none end.
child_ref(Sup, N, #{nodes := Nodes}) ->
    case [1 || #{name := X, kind := pool} <- Nodes, X =:= list_to_atom(Sup)] of
        [] -> list_to_atom(N);
        _ -> case whereis(list_to_atom(N)) of undefined -> dead(); P -> P end
    end.
%% A pid that was, and is certainly dead.
dead() -> {P, M} = spawn_monitor(fun() -> ok end), receive {'DOWN', M, _, _, _} -> P end.
api(Sup, F) ->
    case whereis(list_to_atom(Sup)) of
        undefined -> "noproc";
        P -> try F(P) of
                 ok -> "ok"; {ok, _} -> "ok"; {ok, _, _} -> "ok";
                 {error, running} -> "error running"; {error, restarting} -> "error restarting";
                 {error, not_found} -> "error not_found"; {error, already_present} -> "error already_present";
                 {error, {already_started, _}} -> "error already_started";
                 {error, simple_one_for_one} -> "error simple_one_for_one";
                 {error, planned} -> "error failed"; {error, {planned, _}} -> "error failed";
                 {error, _} -> "error invalid"
             catch exit:_ -> "noproc" end
    end.

settle(S) -> settle(S, none, 0).
settle(S0, Last, Same) ->
    S = root_exit(S0),
    Now = states(S),
    case Now =:= Last of
        true when Same >= 3 -> S;
        true -> timer:sleep(4), settle(S, Now, Same + 1);
        false -> timer:sleep(4), settle(S, Now, 0)
    end.
root_exit(S = #{root := Root}) ->
    receive
        {'EXIT', Root, R} -> S#{rootstate := {gone, R}, root := undefined};
        {'EXIT', _, _} -> root_exit(S)
    after 0 -> S
    end.

states(S = #{nodes := Nodes}) -> [{N, state(X, S)} || X = #{name := N} <- Nodes].
count(N) -> case ets:lookup(counts, N) of [{_, C}] -> C; [] -> 0 end.
state(#{name := N, parent := '-'}, #{rootstate := R}) ->
    lists:flatten(case R of
        up -> io_lib:format("up #~p", [count(N)]);
        undefined -> "gone";
        {gone, W} -> io_lib:format("gone ~s #~p", [root_reason(W), count(N)])
    end);
state(#{name := N, parent := P, kind := Kind}, _) ->
    St = case whereis(P) of
        undefined -> "gone";
        Sup -> try {Kind, supervisor:which_children(Sup)} of
            {pooled, _} -> case whereis(N) of undefined -> "absent"; _ -> "up" end;
            {_, Cs} -> child_state(lists:keyfind(N, 1, Cs))
            catch exit:_ -> "gone" end
    end,
    lists:flatten(io_lib:format("~s #~p", [St, count(N)])).

root_reason(R) when R =:= normal; R =:= shutdown; R =:= killed -> atom_to_list(R);
root_reason(_) -> "crashed".
child_state(false) -> "absent";
child_state({_, undefined, _, _}) -> "down";
child_state({_, restarting, _, _}) -> "restarting";
child_state({_, Pid, _, _}) when is_pid(Pid) -> "up".
